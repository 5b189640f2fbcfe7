"""Django's PostgreSQL backend, for the hot path: plans that are kept, and fewer questions to the server."""

import select
from typing import Any

from django.db.backends.postgresql.base import DatabaseWrapper as PostgreSQLWrapper


class DatabaseWrapper(PostgreSQLWrapper):
    """One connection, looked at before its first use in a request (`conn_health_checks`).

    A server that was restarted has closed its side, and that can be read from the socket at once. Between two
    requests a live one sends nothing. So only where something is to be read, or an error came before, is the
    question put to the server, which costs as much as any query.
    """

    connection: Any

    def init_connection_state(self) -> None:
        """How this connection's statements are planned.

        Only the saving of answers is prepared here, and its plan is the same for every expert: left to itself the
        server plans each call anew, which takes longer than the call. And no disk turns any more: with the default
        cost of a page out of order a small campaign is read whole where a large one is read by its index. Nothing here
        runs long enough to be worth a compiler: looking back over 4,000 answers took 15 ms, and 450 to compile it.
        """
        super().init_connection_state()
        with self.connection.cursor() as cursor:
            cursor.execute(
                "SET plan_cache_mode = force_generic_plan; SET random_page_cost = 1.1; SET jit = off"
            )

    def is_usable(self) -> bool:
        if self.connection is None or self.connection.closed or self.errors_occurred or self._has_news():
            return bool(super().is_usable())
        return True

    def _has_news(self) -> bool:
        poll = select.poll()
        poll.register(self.connection.fileno(), select.POLLIN)
        return bool(poll.poll(0))
