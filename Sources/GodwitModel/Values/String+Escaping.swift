extension String {
  /// The text with one Unicode scalar replaced everywhere, for escapes.
  ///
  /// `replacing(_:with:)` works on characters. A quote and a combining mark form one character that is not a quote, and
  /// a carriage return and a line feed form another. The reader of the result works on scalars or bytes.
  package func replacing(scalar: Unicode.Scalar, with replacement: String) -> String {
    guard unicodeScalars.contains(scalar) else { return self }
    return unicodeScalars.reduce(into: "") { text, next in
      if next == scalar { text += replacement } else { text.unicodeScalars.append(next) }
    }
  }
}
