import GodwitModel

/// An SQL identifier in double quotes.
package func quoted(_ identifier: String) -> String {
  "\"" + identifier.replacing(scalar: "\"", with: "\"\"") + "\""
}
