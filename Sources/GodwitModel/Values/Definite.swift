extension GodwitError {
  /// Whether the error says what is there. The others say that it could not be read, which the next run may do: they
  /// decide nothing.
  package var isDefinite: Bool {
    switch code {
    case .inputOutput, .permission, .stopped, .interrupted, .terminated: false
    default: true
    }
  }
}

/// Three answers to the question what a file is: this, something else or nothing, and an error. `try?` knows two.
package enum Definite {
  /// The value; nil for a file that is missing, or is not what it was taken for.
  ///
  /// - Throws: When the file could not be read.
  package static func answer<T>(_ body: () throws -> T) throws -> T? {
    do { return try body() } catch let error as GodwitError where error.isDefinite { return nil } catch is DecodingError
    {
      return nil
    }
  }
}
