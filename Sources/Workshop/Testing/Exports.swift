// A test of a policy needs the policy protocol, models and mappings: `import GodwitTesting` provides them.
@_exported public import Godwit
