"""What is run: flows, the runner, the store, models, settings, prompts, sinks and the command line."""
