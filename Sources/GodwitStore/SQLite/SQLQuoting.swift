import GodwitModel

/// An SQL identifier in double quotes.
package func quoted(_ identifier: String) -> String {
  "\"" + identifier.replacing(scalar: "\"", with: "\"\"") + "\""
}

/// An SQL text in single quotes.
package func textLiteral(_ text: String) -> String { "'" + text.replacing(scalar: "'", with: "''") + "'" }
