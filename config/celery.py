"""The Celery application. The job rows are the truth, so the broker may lose or repeat what it likes."""

import os

from celery import Celery
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("assay")
app.conf.update(
    broker_url=settings.REDIS_URL or "memory://",
    broker_connection_retry_on_startup=True,
    # A page that announces a job must not hang on a broker that is away: one try, short. What a dead worker had
    # taken is handed out again; where its job still runs elsewhere, that message finds it claimed.
    broker_transport_options={
        "max_retries": 0,
        "socket_connect_timeout": 2,
        "socket_timeout": 10,
        "visibility_timeout": 60,
        "unacked_restore_interval": 1,
        "unacked_restore_throttle": 1,
    },
    task_default_queue="assay",
    task_serializer="json",
    accept_content=["json"],
    task_ignore_result=True,
    task_acks_late=True,
    worker_prefetch_multiplier=1,
    worker_enable_remote_control=False,
    worker_hijack_root_logger=False,
)
app.autodiscover_tasks()
