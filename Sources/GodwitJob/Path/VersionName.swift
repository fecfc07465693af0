import GodwitXcode

/// Reads the place of a model version among others from its name.
package enum VersionName {
  /// A name without its version number: `App v2.1` and `App` are of one family.
  package static func family(of name: String) -> String {
    var stem = Substring(name.lowercased())
    let separators: Set<Character> = [" ", ".", "_", "-"]
    while let end = stem.last {
      let before = stem.dropLast()
      if end.isNumber || separators.contains(end) {
        stem = before
      } else if end == "v", before.isEmpty || before.last.map(separators.contains) == true {
        stem = before
      } else {
        break
      }
    }
    return String(stem)
  }

  /// Whether two names differ in nothing but their number, and the number of the first is the lower one.
  static func isEarlier(_ a: String, _ b: String) -> Bool {
    family(of: a) == family(of: b) && ModelBundle.precedes(a, b)
  }
}
