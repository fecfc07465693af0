/// An SQL identifier in double quotes.
package func quoted(_ identifier: String) -> String {
  "\"" + identifier.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
}
