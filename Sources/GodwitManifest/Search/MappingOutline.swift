import Foundation
package import GodwitModel
import GodwitXcode

/// The models that the text of a mapping model names, also where the rest of the text is damaged.
package struct MappingOutline: Sendable {
  /// The versions that it names; nil where it names none.
  package private(set) var sourceModelName, destinationModelName: String?
  /// Whether it is YAML that has no key of a mapping model.
  package private(set) var isForeign = false
  /// The bytes of a compiled form, which has hashes in place of names.
  private var compiled: Data?

  /// - Parameter bytes: The bytes of the file; nil for a file without any.
  init(_ bytes: [UInt8]?, of path: String) {
    let bytes = bytes ?? []
    let text = String(decoding: bytes, as: UTF8.self)
    switch XcodeFileKind.identify(path) {
    case .compiledMappingModel?: compiled = Data(bytes)
    case .mappingModel?:
      sourceModelName = Self.version("sourcemodelpath", in: text)
      destinationModelName = Self.version("destinationmodelpath", in: text)
    default:
      sourceModelName = Self.value(of: "source-model", in: text)
      destinationModelName = Self.value(of: "destination-model", in: text)
      let isYAML = String(validating: bytes, as: UTF8.self) != nil && Self.hasContent(text)
      isForeign = isYAML && !(MappingReader.keys[""] ?? []).contains { text.contains($0) }
    }
  }

  /// The name of a version at the end of a path that Xcode wrote: `App.xcdatamodeld/App 2.xcdatamodel`.
  private static func version(_ attribute: String, in text: String) -> String? {
    guard let key = text.range(of: "\"\(attribute)\""),
      let start = text[key.upperBound...].firstIndex(of: ">"),
      let end = text[start...].range(of: ".xcdatamodel<")
    else { return nil }
    let path = text[text.index(after: start)..<end.lowerBound]
    guard !path.contains("<"), let name = path.split(separator: "/").last else { return nil }
    return String(name).replacing("&amp;", with: "&").replacing("&apos;", with: "'").replacing("&quot;", with: "\"")
  }

  /// The value of a key in YAML that may be damaged anywhere.
  private static func value(of key: String, in text: String) -> String? {
    for line in text.split(whereSeparator: \.isNewline) {
      guard let found = line.range(of: key), !line[..<found.lowerBound].contains("#"),
        let colon = line[found.upperBound...].firstIndex(of: ":"),
        line[found.upperBound..<colon].allSatisfy({ " \"'".contains($0) })
      else { continue }
      let rest = line[line.index(after: colon)...].drop { $0.isWhitespace }
      let value =
        if let quote = rest.first, "\"'".contains(quote) { rest.dropFirst().prefix { $0 != quote } } else {
          rest.range(of: " #").map { rest[..<$0.lowerBound] } ?? rest.prefix { !",}".contains($0) }
        }
      let name = value.trimmingCharacters(in: .whitespaces)
      return name.isEmpty ? nil : name
    }
    return nil
  }

  /// Whether a YAML file has more than comments.
  private static func hasContent(_ text: String) -> Bool {
    text.split(whereSeparator: \.isNewline).contains { line in
      line.first { !$0.isWhitespace }.map { $0 != "#" } ?? false
    }
  }

  /// Whether it may be for steps among some versions: it names one that a step may begin at or lead to.
  ///
  /// - Parameter versions: Oldest first.
  /// - Returns: Nil where it does not say which models it is for.
  package func concerns(_ versions: [ManagedObjectModel]) -> Bool? {
    guard !isForeign else { return false }
    if let compiled {
      return versions.contains { Self.has($0, in: compiled) } ? true : nil
    }
    guard sourceModelName != nil || destinationModelName != nil else { return nil }
    return versions.dropLast().contains { $0.name == sourceModelName }
      || versions.dropFirst().contains { $0.name == destinationModelName }
  }

  func mayStart(_ version: ManagedObjectModel) -> Bool { isFor(version, sourceModelName) }
  func mayEnd(_ version: ManagedObjectModel) -> Bool { isFor(version, destinationModelName) }

  private func isFor(_ version: ManagedObjectModel, _ name: String?) -> Bool {
    guard !isForeign else { return false }
    return compiled.map { Self.has(version, in: $0) } ?? name.map { $0 == version.name } ?? true
  }

  private static func has(_ version: ManagedObjectModel, in bytes: Data) -> Bool {
    version.versionHashes.values.contains { bytes.range(of: Data($0.bytes)) != nil }
  }
}
