import Foundation
import GodwitModel
import TestSupport
import Testing

@testable import GodwitXcode

/// Reads what may be damaged; any end but an error of the file's or a mapping model is a bug.
private func attempt(_ bytes: [UInt8], isCompiled: Bool) -> Bool {
  do {
    let file =
      try isCompiled
      ? XcodeMappingModel(compiled: bytes, path: "M.cdm")
      : XcodeMappingModel(source: bytes, path: "M.xcmappingmodel", file: "xcmapping.xml")
    _ = try file.mappingModel()
    _ = file.outline
    return true
  } catch {
    let code = (error as? GodwitError)?.code
    #expect(code == .missingInput || code == .configuration, "\(error)")
    return false
  }
}

@Suite(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
struct `Damaged mapping models` {
  @Test(arguments: [
    CorpusMappingModel.sources[2].path + "/xcmapping.xml", CorpusMappingModel.sources[10].path + "/xcmapping.xml",
    CorpusMappingModel.cars + "Fixtures/V2toV3.cdm",
  ])
  func `a mapping model with any changed or missing byte never traps`(path: String) throws {
    let bytes = Array(try Data(contentsOf: URL(filePath: Corpus.path(path))))
    let isCompiled = path.hasSuffix(".cdm")
    #expect(attempt(bytes, isCompiled: isCompiled))
    var dice = SeededGenerator(seed: 7)
    var refused = 0
    for round in 0..<(isCompiled ? 300 : 36) {
      var damaged = bytes
      if round % 6 == 0 {
        damaged.removeLast(Int(dice.next() % UInt64(bytes.count)))
      } else {
        for _ in 0..<(1 + dice.next() % 8) {
          damaged[Int(dice.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: dice.next())
        }
      }
      if !attempt(damaged, isCompiled: isCompiled) { refused += 1 }
    }
    #expect(refused > 15)
  }

  /// Damage in the middle of base64 rarely survives as an archive, so the archives inside are damaged by themselves.
  @Test func `a mapping model with a damaged model inside never traps`() throws {
    let path = Corpus.path(CorpusMappingModel.sources[11].path + "/xcmapping.xml")
    let reader = try SourceMappingReader(Array(Data(contentsOf: URL(filePath: path))), file: "xcmapping.xml")
    let bytes = try #require(try reader.document.bytes("sourcemodeldata", of: reader.root))
    _ = try EditorModelReader.read(embedded: bytes, name: "M")
    var dice = SeededGenerator(seed: 8)
    var (refused, read) = (0, 0)
    for _ in 0..<300 {
      var damaged = bytes
      for _ in 0..<(1 + dice.next() % 4) {
        damaged[Int(dice.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: dice.next())
      }
      do {
        _ = try EditorModelReader.read(embedded: damaged, name: "M").versionHashes
        read += 1
      } catch {
        #expect((error as? GodwitError)?.code == .missingInput, "\(error)")
        refused += 1
      }
    }
    #expect(refused > 20 && read > 5)
  }

  @Test func `a mapping model with any reference or value in its archives never traps`() throws {
    let path = Corpus.path(CorpusMappingModel.cars + "Fixtures/V2toV3.cdm")
    let list = try PropertyListValue(binary: Array(try Data(contentsOf: URL(filePath: path))))
    let fields = try #require(list.dictionary)
    let objects = try #require(fields["$objects"]?.array)
    var dice = SeededGenerator(seed: 9)
    var refused = 0
    for _ in 0..<200 {
      var damaged = objects
      for _ in 0..<(1 + dice.next() % 3) {
        let any: [PropertyListValue] = [
          .uid(dice.next() % UInt64(objects.count + 1)), .uid(.max), .integer(.min), .integer(.max), .real(.nan),
          .string(""), .data([]), .array([]), .dictionary([:]), .boolean(true), .date(.nan), .uid(1), .uid(2),
        ]
        let index = Int(dice.next() % UInt64(objects.count))
        let value = any[Int(dice.next() % UInt64(any.count))]
        if var object = damaged[index].dictionary, let key = object.keys.sorted().randomElement(using: &dice) {
          object[key] = value
          damaged[index] = .dictionary(object)
        } else {
          damaged[index] = value
        }
      }
      var archive = fields
      archive["$objects"] = .array(damaged)
      if !attempt(PropertyListValue.dictionary(archive).binaryPropertyList, isCompiled: true) { refused += 1 }
    }
    #expect(refused > 30)
  }
}
