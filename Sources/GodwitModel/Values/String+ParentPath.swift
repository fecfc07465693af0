extension String {
  /// The path of the folder that contains a path: empty for a name alone, `/` for an entry of the root.
  ///
  /// Foundation's `deletingLastPathComponent` of `NSString` traps on Linux for a name of one character.
  package var parentPath: String {
    let slash = UInt8(ascii: "/")
    var path = utf8[...]
    while path.count > 1, path.last == slash { path.removeLast() }
    guard let end = path.lastIndex(of: slash) else { return "" }
    var parent = path[..<end]
    while parent.last == slash { parent.removeLast() }
    return parent.isEmpty ? "/" : String(Substring(parent))
  }
}
