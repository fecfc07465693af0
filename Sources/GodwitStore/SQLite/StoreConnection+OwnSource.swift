extension StoreConnection {
  /// Makes the main database the source too: the database name `source` means `main` in every later statement.
  ///
  /// So statements that read a source and write a store can edit a store in its place. Attach no source then.
  ///
  /// - Parameter path: The name of the source in messages.
  package func aliasSourceToMain(named path: String) {
    isOwnSource = true
    sourcePath = path
  }

  /// The statement with `main.` in place of every `source.` outside of quotes.
  package static func movedToMain(_ sql: String) -> String {
    let word = Array(sourceSchema.utf8)
    let text = Array(sql.utf8)
    var moved: [UInt8] = []
    moved.reserveCapacity(text.count)
    var quote: UInt8?
    var position = 0
    while position < text.count {
      let byte = text[position]
      if let open = quote {
        if byte == open { quote = nil }
      } else if byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\"") {
        quote = byte
      } else if byte == word[0], !isInName(moved.last), text[position...].starts(with: word),
        position + word.count < text.count, text[position + word.count] == UInt8(ascii: ".")
      {
        moved += Array("main".utf8)
        position += word.count
        continue
      }
      moved.append(byte)
      position += 1
    }
    return String(decoding: moved, as: UTF8.self)
  }

  /// Whether a name continues after the byte, or a part of one has just ended.
  private static func isInName(_ byte: UInt8?) -> Bool {
    guard let byte else { return false }
    return byte >= 0x80 || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ".")
      || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
  }
}
