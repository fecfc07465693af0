extension String {
  /// The text with one Unicode scalar replaced everywhere, for escapes.
  ///
  /// `replacing(_:with:)` goes by characters: a quote and a combining mark are one character that is not a quote, and
  /// so are a carriage return and a line feed. Whoever reads the result goes by scalars or bytes.
  package func replacing(scalar: Unicode.Scalar, with replacement: String) -> String {
    guard unicodeScalars.contains(scalar) else { return self }
    return unicodeScalars.reduce(into: "") { text, next in
      if next == scalar { text += replacement } else { text.unicodeScalars.append(next) }
    }
  }
}
