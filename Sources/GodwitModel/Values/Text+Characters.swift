extension Text {
  /// In upper case, without a locale.
  package var uppercased: Text {
    utf8.isASCII ? Text(utf8: utf8.map(\.uppercasedASCII)) : Text(string.uppercased())
  }

  /// In lower case, without a locale.
  package var lowercased: Text {
    utf8.isASCII ? Text(utf8: utf8.map(\.lowercasedASCII)) : Text(string.lowercased())
  }

  /// The length in UTF-16 code units.
  package var utf16Count: Int { utf8.isASCII ? utf8.count : string.utf16.count }
}

extension [UInt8] {
  /// Whether it is text that needs no look at Unicode's tables.
  var isASCII: Bool { reduce(0, |) < 0x80 }
}

extension UInt8 {
  var uppercasedASCII: UInt8 { (0x61...0x7A).contains(self) ? self & 0xDF : self }
  var lowercasedASCII: UInt8 { (0x41...0x5A).contains(self) ? self | 0x20 : self }
}
