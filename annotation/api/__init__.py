"""The same rooms for programs: an expert's own work, and a campaign's labels and judgements."""
