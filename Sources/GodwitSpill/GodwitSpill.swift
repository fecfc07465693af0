// GodwitSpill
