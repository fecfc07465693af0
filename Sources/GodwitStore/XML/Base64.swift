import Foundation

/// Base64 as XML files hold it: broken into lines, indented.
enum Base64 {
  /// nil when the text is not Base64. White space is ignored.
  static func bytes(of text: [UInt8]) -> [UInt8]? {
    let plain = text.filter { $0 != 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }
    return Data(base64Encoded: Data(plain)).map { Array($0) }
  }

  /// A line of 76 characters, then the rest in one line: so Core Data breaks it.
  static func text(of bytes: [UInt8]) -> String {
    let text = Data(bytes).base64EncodedString()
    guard !text.isEmpty else { return "" }
    let head = text.utf8.prefix(76)
    let rest = text.utf8.dropFirst(76)
    return rest.isEmpty ? "\(text)\n" : "\(Substring(head))\n\(Substring(rest))\n"
  }
}
