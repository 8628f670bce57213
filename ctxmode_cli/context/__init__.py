"""What would be sent: history, modes, steps, budget, validity, and the manager that a service imports."""
