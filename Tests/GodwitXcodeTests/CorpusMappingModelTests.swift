import Foundation
import GodwitModel
import GodwitXcode
import TestSupport
import Testing

/// Every mapping model of the corpus: path, versions, mappings in order as `name: kind`, classes of policies.
struct CorpusMappingModel: Sendable, CustomTestStringConvertible {
  var path: String
  /// The bundle that has both versions.
  var bundle: String
  var source, destination: String
  var mappings: [String]
  var policies: Set<String> = []

  var testDescription: String { String(path.split(separator: "/").last ?? "") }

  static let evolution = "JohnEstropia_CoreStore/Demo/Sources/Demos/Advanced/EvolutionDemo/Advanced.EvolutionDemo."
  static let books = "hwaxxer_BookMigration/BookMigration/"
  static let moods = "objcio_core-data/Migrations/Migrations/"
  static let posts = "wibosco_CoreDataMigration-Example/CoreDataMigration-Example/CoreData/"
  static let cars = "alemar11_CoreDataPlus/Tests/Resources/SampleModel/"

  static let sources: [CorpusMappingModel] = [
    .init(
      path: evolution + "V1.FromV2.xcmappingmodel", bundle: evolution + "V1.xcdatamodeld",
      source: "Advanced.EvolutionDemo.V2", destination: "Advanced.EvolutionDemo.V1",
      mappings: ["CreatureToCreature: transform"]),
    .init(
      path: evolution + "V2.FromV1.xcmappingmodel", bundle: evolution + "V1.xcdatamodeld",
      source: "Advanced.EvolutionDemo.V1", destination: "Advanced.EvolutionDemo.V2",
      mappings: ["CreatureToCreature: custom"], policies: ["Advanced_EvolutionDemo_V2_FromV1MigrationPolicy"]),
    .init(
      path: cars + "MappingModels/V2toV3.xcmappingmodel", bundle: cars + "SampleModel.xcdatamodeld",
      source: "SampleModel2", destination: "SampleModel3",
      mappings: [
        "CarToCar: custom", "LuxuryCarToLuxuryCar: custom", "PersonToPerson: transform", "SportCarToSportCar: custom",
        "Maker: add",
      ], policies: ["REPLACE_AT_RUNTIME.V2to3MakerPolicy"]),
    .init(
      path: books + "Model1_to_Model2.xcmappingmodel", bundle: books + "Model.xcdatamodeld", source: "Model1",
      destination: "Model2", mappings: ["UserToUser: transform", "Author: add", "BookToBook: custom"],
      policies: ["MHWBookToBookPolicy"]),
    .init(
      path: books + "Model2_to_Model3.xcmappingmodel", bundle: books + "Model.xcdatamodeld", source: "Model2",
      destination: "Model3", mappings: ["File: add", "BookToBook: custom", "AuthorToAuthor: transform"],
      policies: ["MHWBookToBookPolicy"]),
    .init(
      path: books + "Model2_to_Model3_User.xcmappingmodel", bundle: books + "Model.xcdatamodeld", source: "Model2",
      destination: "Model3", mappings: ["UserToUser: transform"]),
    .init(
      path: moods + "Moody 2-Moody 3.xcmappingmodel", bundle: moods + "Moody.xcdatamodeld", source: "Moody 2",
      destination: "Moody 3",
      mappings: ["MoodToMood: transform", "CountryToCountry: transform", "ContinentToContinent: transform"]),
    .init(
      path: moods + "Moody 3-Moody 4.xcmappingmodel", bundle: moods + "Moody.xcdatamodeld", source: "Moody 3",
      destination: "Moody 4",
      mappings: ["ContinentToContinent: transform", "CountryToCountry: transform", "MoodToMood: transform"]),
    .init(
      path: moods + "Moody 4-Moody 5.xcmappingmodel", bundle: moods + "Moody.xcdatamodeld", source: "Moody 4",
      destination: "Moody 5", mappings: ["MoodToMood: transform", "CountryToCountry: transform"]),
    .init(
      path: moods + "Moody 5-Moody 6.xcmappingmodel", bundle: moods + "Moody.xcdatamodeld", source: "Moody 5",
      destination: "Moody 6", mappings: ["Continent: add", "CountryToCountry: custom", "MoodToMood: transform"],
      policies: ["Migrations.Country5ToCountry6Policy"]),
    .init(
      path: posts + "Migration/Mappings/Migration1to2.xcmappingmodel",
      bundle: posts + "Model/CoreDataMigration_Example.xcdatamodeld", source: "CoreDataMigration_Example",
      destination: "CoreDataMigration_Example 2", mappings: ["PostToPost: transform"]),
    .init(
      path: posts + "Migration/Mappings/Migration2to3.xcmappingmodel",
      bundle: posts + "Model/CoreDataMigration_Example.xcdatamodeld", source: "CoreDataMigration_Example 2",
      destination: "CoreDataMigration_Example 3", mappings: ["Color: add", "PostToPost: custom"],
      policies: ["CoreDataMigration_Example.Post2ToPost3MigrationPolicy"]),
  ]

  func models() throws -> (source: ManagedObjectModel, destination: ManagedObjectModel) {
    let bundle = try ModelBundle(contentsOf: Corpus.path(bundle))
    return (try bundle.model(named: source), try bundle.model(named: destination))
  }
}

@Suite(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
struct `Mapping models of the corpus` {
  /// Mapping models that the table of corpus projects converts and runs.
  private static let others = [
    "carekit-apple_CareKit/CareKitStore/CareKitStore/CoreData/Migrations/2_0To2_1/2.0_2.1_Mapping.xcmappingmodel",
    "carekit-apple_CareKit/_history/CareKitStore/CareKitStore/CoreData/Migrations/2_0To_3_0/2.0_3.0_Mapping.xcmappingmodel",
    "carekit-apple_CareKit/_history/CareKitStore/CareKitStore/CoreData/Migrations/2_1To3_0/2.1_3.0_Mapping.xcmappingmodel",
    "novasamatech_nova-wallet-ios/novawallet/Common/Storage/MigrationMappings/SingleToMultiasset.xcmappingmodel",
  ]

  @Test func `the table lists every mapping model of the corpus`() throws {
    let folder = try #require(Corpus.folder)
    let walk = try #require(FileManager.default.enumerator(atPath: folder.path))
    let found = walk.compactMap { $0 as? String }.filter {
      $0.hasSuffix(".xcmappingmodel") || $0.hasSuffix(".cdm")
    }
    #expect(
      found.sorted()
        == (CorpusMappingModel.sources.map(\.path) + Self.others + [CorpusMappingModel.cars + "Fixtures/V2toV3.cdm"])
        .sorted())
  }

  @Test(arguments: CorpusMappingModel.sources) func `every mapping model of the corpus is read`(
    entry: CorpusMappingModel
  ) throws {
    for ending in ["", "/xcmapping.xml"] {
      let file = try XcodeMappingModel(contentsOf: Corpus.path(entry.path + ending))
      #expect(file.sourceModelName == entry.source && file.destinationModelName == entry.destination)
      #expect(file.outline.map { "\($0.name): \($0.kind.rawValue)" } == entry.mappings)
      #expect(Set(file.outline.compactMap(\.policyName)) == entry.policies)
    }
  }

  /// The hashes of models that were archived by Xcode's editor are those of the models themselves.
  @Test(arguments: CorpusMappingModel.sources)
  func `every mapping model of the corpus is matched to its versions by hashes`(entry: CorpusMappingModel) throws {
    let file = try XcodeMappingModel(contentsOf: Corpus.path(entry.path))
    #expect(file.embeddedModelProblem == nil)
    let (source, destination) = try entry.models()
    #expect(file.fit(from: source, to: destination) == .hashes)
    #expect(file.fit(from: destination, to: source) != .hashes)
    let made = try file.mappingModel(from: source, to: destination)
    #expect(made.placeless == (try file.mappingModel()).placeless)
  }

  @Test(arguments: CorpusMappingModel.sources)
  func `a mapping model with all its texts written as escapes is the same`(entry: CorpusMappingModel) throws {
    let path = Corpus.path(entry.path + "/xcmapping.xml")
    let text = try String(contentsOf: URL(filePath: path), encoding: .utf8)
    let tag = "type=\"string\">"
    let parts = text.components(separatedBy: tag)
    let escaped = parts.dropFirst().map { part in
      let value = part.prefix { $0 != "<" }
      let escapes = value.utf16.map { unit in
        let digits = String(unit.byteSwapped, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      }
      return escapes.joined() + part.dropFirst(value.count)
    }
    let folder = try TemporaryFolder()
    try FileManager.default.createDirectory(atPath: folder.file("M.xcmappingmodel"), withIntermediateDirectories: true)
    try Data((parts[0] + escaped.map { tag + $0 }.joined()).utf8)
      .write(to: URL(filePath: folder.file("M.xcmappingmodel/xcmapping.xml")))
    let (file, other) = try (
      XcodeMappingModel(contentsOf: path), XcodeMappingModel(contentsOf: folder.file("M.xcmappingmodel"))
    )
    #expect(other.sourceModelName == entry.source && other.destinationModelName == entry.destination)
    #expect(try file.mappingModel().placeless == other.mappingModel().placeless)
  }

  @Test func `a mapping model and its compiled form are equal`() throws {
    let entry = CorpusMappingModel.sources[2]
    let (source, destination) = try entry.models()
    let written = try XcodeMappingModel(contentsOf: Corpus.path(entry.path))
    let compiled = try XcodeMappingModel(contentsOf: Corpus.path(CorpusMappingModel.cars + "Fixtures/V2toV3.cdm"))
    #expect(compiled.fit(from: source, to: destination) == .hashes)
    let (a, b) = (
      try written.mappingModel(from: source, to: destination), try compiled.mappingModel(from: source, to: destination)
    )
    #expect(a.placeless == b.placeless)
    #expect(a.placeless.entityMappings == (try compiled.mappingModel()).placeless.entityMappings)
    #expect(
      a["PersonToPerson"]?.relationshipMappings.map(\.value) == [
        .sourceRelationship("cars"), .sourceRelationship("cars"),
      ])
    #expect(a["CarToCar"]?.relationshipMappings.map(\.name) == ["owner", "previousOwners"])
    for (name, hash) in compiled.sourceEntityHashes { #expect(written.sourceEntityHashes[name] == hash) }
    for (name, hash) in compiled.destinationEntityHashes { #expect(written.destinationEntityHashes[name] == hash) }
  }

  @Test func `a compiled mapping model for other versions is refused by the entity that differs`() throws {
    let (source, destination) = try CorpusMappingModel.sources[2].models()
    let compiled = try XcodeMappingModel(contentsOf: Corpus.path(CorpusMappingModel.cars + "Fixtures/V2toV3.cdm"))
    let error = #expect(throws: GodwitError.self) { try compiled.mappingModel(from: destination, to: source) }
    #expect(error?.code == .configuration)
    #expect(error?.cause == "the source entity 'Car' has another version hash than in 'SampleModel3'")
  }
}
