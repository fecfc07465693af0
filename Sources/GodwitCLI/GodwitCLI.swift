// GodwitCLI
