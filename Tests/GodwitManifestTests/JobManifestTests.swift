import Foundation
import GodwitJob
import GodwitModel
import TestSupport
import Testing

@testable import GodwitManifest

/// The error a reader throws for a text, nil when it throws none.
func complaint(of text: String, mapping: Bool = false) throws -> GodwitError? {
  try complaint(of: Array(text.utf8), mapping: mapping)
}

func complaint(of bytes: [UInt8], mapping: Bool = false) throws -> GodwitError? {
  do {
    if mapping {
      _ = try mappingModel(bytes)
    } else {
      _ = try manifest(bytes)
    }
    return nil
  } catch let error as GodwitError {
    return error
  }
}

func manifest(_ bytes: [UInt8], path: String = "jobs/people.yaml") throws -> JobManifest {
  let file = try YAMLFile(bytes: bytes, path: path, what: "job manifest")
  return try JobManifest(reading: YAMLReader(file: file))
}

func mappingModel(_ bytes: [UInt8], path: String = "people.mapping.yaml") throws -> MappingModel {
  try MappingModel(bytes: bytes, path: path)
}

let required = "godwit: 1\nsource: a.sqlite\ndestination: b.sqlite\nmodels: M.xcdatamodeld\n"

@Suite struct `Job manifests` {
  @Test func `a manifest with the required keys gets defaults for the rest`() throws {
    let job = try manifest(Array(required.utf8))
    #expect(job.job == "people")
    #expect(job.source.resolved == "jobs/a.sqlite")
    #expect(job.source.location == .init(file: "jobs/people.yaml", line: 2, column: 9))
    let destination = try #require(job.destination.path)
    #expect(destination.resolved == "jobs/b.sqlite")
    #expect(job.models.map(\.resolved) == ["jobs/M.xcdatamodeld"])
    #expect(job.mappings == .auto)
    #expect(job.memory == .mebibytes(64))
    #expect(job.onInvalid == .fail)
    #expect(job.chunks.rows == nil && job.chunks.by.isEmpty)
    #expect(job.destination.existing == .fail && job.mergeModels.isEmpty && job.configuration == nil)
    #expect(job.destinationType == .sqlite && job.onLoss == .report && job.cloudkit == .stop)
    #expect(job.unregisteredPolicies == .fail && job.stages.isEmpty && job.versionOrder.isEmpty)
    #expect(job.locations["models"] == .init(file: "jobs/people.yaml", line: 4, column: 1))
  }

  @Test func `commands for the end of a run are one text or a list`() throws {
    let text = required + "on-success: ./tell.sh\non-failure:\n  - ./first.sh\n  - ./second.sh\n"
    let job = try manifest(Array(text.utf8))
    #expect(job.onSuccess.map(\.value) == ["./tell.sh"])
    #expect(job.onFailure.map(\.value) == ["./first.sh", "./second.sh"])
    #expect(job.onFailure.first?.location.line == 7)
    for wrong in ["on-success: []", "on-success: {a: b}", "on-failure: ''", "on-failure: [[a]]"] {
      let found = try #require(try complaint(of: required + wrong + "\n"), "\(wrong)")
      #expect(found.code == .configuration && found.location?.line == 5, "\(wrong)")
    }
  }

  @Test func `every manifest key is read`() throws {
    let text = """
      godwit: 1
      job: peoplizer-3-to-4
      source: /stores/people.sqlite
      destination: {existing: in-place, keep-old: false}

      models: [Peoplizer.xcdatamodeld, "Old.xcdatamodeld#Peoplizer 1"]
      destination-model: Peoplizer 4
      mappings: [V3toV4.mapping.yaml, two.yaml]
      assume-source-model: Peoplizer 1
      chunks:
        rows: 50000
        by:
          PersonToAdult: ["name BEGINSWITH 'A'", name == nil]
      memory: 128 MiB
      on-invalid: {quarantine: {max-rows: 100, max-percent: 0.1}}
      merge-models: [X.mom]
      configuration: Cloud
      destination-type: xml
      on-loss: fail
      accept-losses: [Person.age, "Pet (filtered out)"]
      cloudkit: drop
      version-order: [Peoplizer 1, Peoplizer 4]
      mapping-search: maps
      layout: {from: old/people.sqlite, names: {Person.friends: Z_1FRIENDS}, strict: true}
      unregistered-policies: default
      stages:
        - step: Peoplizer 4
          before: check
          after: tidy
      """
    let job = try manifest(Array(text.utf8))
    #expect(job.job == "peoplizer-3-to-4")
    #expect(job.source.resolved == "/stores/people.sqlite")
    #expect(job.destination == .init(path: nil, existing: .inPlace(keepsOld: false)))
    #expect(job.models.map(\.resolved) == ["jobs/Peoplizer.xcdatamodeld", "jobs/Old.xcdatamodeld#Peoplizer 1"])
    #expect(job.models[1].location.column == 35)
    #expect(job.destinationModel?.value == "Peoplizer 4")
    #expect(job.assumeSourceModel?.value == "Peoplizer 1")
    guard case .files(let files) = job.mappings else { throw Unexpected() }
    #expect(files.map(\.raw) == ["V3toV4.mapping.yaml", "two.yaml"])
    #expect(job.chunks.rows == 50000)
    #expect(job.chunks.by["PersonToAdult"]?.map(\.text) == ["name BEGINSWITH 'A'", "name == nil"])
    #expect(job.chunks.by["PersonToAdult"]?.first?.location == .init(file: "jobs/people.yaml", line: 13, column: 22))
    #expect(job.chunks.locations["PersonToAdult"]?.line == 13)
    #expect(job.memory == .mebibytes(128))
    #expect(job.onInvalid == .quarantine(maxRows: 100, maxPercent: 0.1))
    #expect(job.mergeModels.map(\.resolved) == ["jobs/X.mom"])
    #expect(job.configuration == "Cloud" && job.destinationType == .xml)
    #expect(job.onLoss == .fail && job.cloudkit == .drop)
    #expect(job.acceptLosses.map(\.value) == ["Person.age", "Pet (filtered out)"])
    #expect(job.versionOrder == ["Peoplizer 1", "Peoplizer 4"])
    #expect(job.mappingSearch.map(\.resolved) == ["jobs/maps"])
    #expect(job.layout?.from?.resolved == "jobs/old/people.sqlite")
    #expect(job.layout?.names.map(\.end) == ["Person.friends"] && job.layout?.isStrict == true)
    #expect(job.layout?.names.first?.name.value == "Z_1FRIENDS" && job.layout?.names.first?.name.location.line == 24)
    #expect(job.unregisteredPolicies == .default)
    #expect(job.stages.map(\.step.value) == ["Peoplizer 4"])
    #expect(job.stages.first?.before?.value == "check" && job.stages.first?.after?.value == "tidy")
  }

  @Test func `a layout that is a path alone is told how to be written`() throws {
    let plain = try #require(try complaint(of: "godwit: 1\nsource: a\ndestination: b\nmodels: M\nlayout: c.sqlite\n"))
    #expect(plain.remedy == "write `layout: {from: c.sqlite}`")
  }

  @Test func `a YAML alias stands for its anchor`() throws {
    let text = "godwit: 1\nsource: a\ndestination: b\nmodels: &m [M, N]\nmerge-models: *m\n"
    let job = try manifest(Array(text.utf8))
    #expect(job.mergeModels.map(\.raw) == ["M", "N"])
  }

  @Test(arguments: ["&c !!str Cloud", "!!str &c Cloud"])
  func `a YAML anchor may stand beside a tag`(value: String) throws {
    let job = try manifest(Array((required + "configuration: \(value)\njob: *c\n").utf8))
    #expect(job.configuration == "Cloud" && job.job == "Cloud")
  }

  @Test func `a YAML alias may be a key`() throws {
    let text = required + "configuration: &n A\nchunks: {by: {*n : p, xn: q, \"*m\": r}}\n"
    let job = try manifest(Array(text.utf8))
    #expect(job.chunks.by.mapValues { $0.map(\.text) } == ["A": ["p"], "xn": ["q"], "*m": ["r"]])
  }

  @Test func `a plain number for memory is a budget in bytes`() throws {
    #expect(try manifest(Array((required + "memory: 33554432\n").utf8)).memory == .mebibytes(32))
  }

  @Test func `a missing manifest and a folder are 66`() throws {
    let folder = try TemporaryFolder()
    #expect(throws: GodwitError.self) { try JobManifest(contentsOf: folder.file("none.yaml")) }
    for path in [folder.file("none.yaml"), folder.path] {
      do {
        _ = try JobManifest(contentsOf: path)
        Issue.record("read \(path)")
      } catch let error as GodwitError {
        #expect(error.code == .missingInput)
        #expect(error.message.contains(path))
      }
    }
  }

  @Test(.enabled(if: geteuid() != 0, "root may read everything"))
  func `a manifest without read permission is 77`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("job.yaml")
    try Data(required.utf8).write(to: URL(filePath: path))
    try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: path)
    do {
      _ = try JobManifest(contentsOf: path)
      Issue.record("read a file without permission")
    } catch let error as GodwitError {
      #expect(error.code == .permission)
    }
  }

  @Test(arguments: ["a.sqlite", "./a.sqlite", "sub/../a.sqlite", "hard.sqlite", "soft.sqlite", "link/a.sqlite"])
  func `a destination that is the source is 78`(destination: String) throws {
    let folder = try TemporaryFolder()
    let manager = FileManager.default
    try manager.createDirectory(atPath: folder.file("sub"), withIntermediateDirectories: true)
    try Data([1]).write(to: URL(filePath: folder.file("a.sqlite")))
    try manager.linkItem(atPath: folder.file("a.sqlite"), toPath: folder.file("hard.sqlite"))
    try manager.createSymbolicLink(atPath: folder.file("soft.sqlite"), withDestinationPath: "a.sqlite")
    try manager.createSymbolicLink(atPath: folder.file("link"), withDestinationPath: ".")
    let text = "godwit: 1\nsource: a.sqlite\ndestination: \(destination)\nmodels: M\n"
    try Data(text.utf8).write(to: URL(filePath: folder.file("job.yaml")))
    do {
      _ = try JobManifest(contentsOf: folder.file("job.yaml"))
      Issue.record("accepted \(destination)")
    } catch let error as GodwitError {
      #expect(error.code == .configuration)
      #expect(error.location == .init(file: folder.file("job.yaml"), line: 3, column: 14))
      #expect(error.message.contains("same"))
    }
  }

  @Test func `two paths that do not exist yet are compared after links are resolved`() throws {
    let folder = try TemporaryFolder()
    try FileManager.default.createSymbolicLink(atPath: folder.file("link"), withDestinationPath: ".")
    let text = "godwit: 1\nsource: new.sqlite\ndestination: link/new.sqlite\nmodels: M\n"
    try Data(text.utf8).write(to: URL(filePath: folder.file("job.yaml")))
    #expect(throws: GodwitError.self) { try JobManifest(contentsOf: folder.file("job.yaml")) }
    let other = text.replacing("link/new", with: "link/other")
    try Data(other.utf8).write(to: URL(filePath: folder.file("job.yaml")))
    #expect(try JobManifest(contentsOf: folder.file("job.yaml")).job == "job")
  }

  @Test(
    arguments: [
      ("nightly/job.yaml", "nightly", "job"), ("nightly/job.yml", "nightly", "job"),
      ("./nightly/../a b/job.yaml", "a b", "job"),
      ("nightly/people.yaml", "people", nil), ("nightly/job", "job", nil), ("/job.yaml", "job", nil),
      ("a\nb/job.yaml", "job", nil), ("job/job.yaml", "job", nil),
    ] as [(String, String, String?)])
  func `a job without a name has that of its file, and in a job.yaml that of the folder`(
    path: String, name: String, earlier: String?
  ) throws {
    let text = "godwit: 1\nsource: a.sqlite\ndestination: b.sqlite\nmodels: M\n"
    let manifest = try JobManifest(text: text, path: path)
    #expect(manifest.job == name && manifest.earlierName == earlier)
    let named = try JobManifest(text: text + "job: mine\n", path: path)
    #expect(named.job == "mine" && named.earlierName == nil)
  }
}

struct Unexpected: Error {}
