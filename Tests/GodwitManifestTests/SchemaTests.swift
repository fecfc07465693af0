import Foundation
import GodwitModel
import TestSupport
import Testing
import Yams

@testable import GodwitManifest

@Suite struct `Published schemas` {
  @Test func `the job schema knows the keys the reader knows, no more and no less`() throws {
    let schema = try JSONSchema(named: "job.schema.json")
    let places: [String: [String]] = [
      "": [], "chunks": ["chunks"], "on-invalid": ["on-invalid"], "quarantine": ["on-invalid", "quarantine"],
      "stages": ["stages", "[]"], "source": ["source"], "stores": ["stores"], "layout": ["layout"],
      "destination": ["destination"],
    ]
    #expect(Set(places.keys) == Set(JobManifest.keys.keys))
    for (map, path) in places { #expect(schema.keys(path) == Set(JobManifest.keys(in: map)), "\(map)") }
  }

  @Test func `the mapping schema knows the keys the reader knows, no more and no less`() throws {
    let schema = try JSONSchema(named: "mapping.schema.json")
    let places: [String: [String]] = [
      "": [], "entity-mappings": ["entity-mappings", "[]"], "unique-by": ["entity-mappings", "[]", "unique-by"],
      "attributes": ["entity-mappings", "[]", "attributes", "*"],
      "relationships": ["entity-mappings", "[]", "relationships", "*"],
    ]
    #expect(Set(places.keys) == Set(MappingReader.keys.keys))
    for (map, path) in places { #expect(schema.keys(path) == Set(MappingReader.keys[map] ?? []), "\(map)") }
  }

  @Test(arguments: ["job.schema.json", "mapping.schema.json"])
  func `every key of the schemas is described`(name: String) throws {
    #expect(try JSONSchema(named: name).undescribed() == [])
  }

  @Test func `manifests that the reader accepts conform to the schema`() throws {
    let job = try JSONSchema(named: "job.schema.json")
    for text in Samples.jobs {
      _ = try manifest(Array(text.utf8))
      #expect(job.findings(try #require(try compose(yaml: text))) == [])
    }
    let mapping = try JSONSchema(named: "mapping.schema.json")
    for text in Samples.mappings {
      _ = try mappingModel(Array(text.utf8))
      #expect(mapping.findings(try #require(try compose(yaml: text))) == [])
    }
  }

  @Test(arguments: ["job: 2024", "job: true", "configuration: 7", "destination-model: 2.5"])
  func `a scalar that YAML does not call a text is one for the reader and for the schema`(line: String) throws {
    let text = required + line + "\n"
    #expect(try complaint(of: text) == nil)
    let job = try JSONSchema(named: "job.schema.json")
    #expect(job.findings(try #require(try compose(yaml: text))) == [])
  }

  @Test(arguments: [
    "colour: red", "memory: lots", "memory: 1024", "append: 1", "chunks: {rows: 0}", "chunks: {rows: 10000001}",
    "chunks: {by: {A: []}}", "on-invalid: ignore", "on-invalid: {quarantine: {}}", "on-loss: lose",
    "accept-losses: {Person: age}", "accept-losses: []", "models2: x",
    "in-place: true", "keep-old: true", "history: keep", "job: a/b", "stages: [{before: a}]",
    "destination-type: memory",
    "on-invalid: {quarantine: {max-percent: 101}}", "configuration: ''", "version-order: one",
  ])
  func `manifests that the schema refuses are refused by the reader`(line: String) throws {
    let text = required + line + "\n"
    let job = try JSONSchema(named: "job.schema.json")
    #expect(job.findings(try #require(try compose(yaml: text))) != [])
    #expect(try complaint(of: text)?.code == .configuration)
  }

  @Test func `every file under jobs conforms to its schema`() throws {
    let folder = Checkout.url("jobs")
    let names = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
    for name in names where name.hasSuffix(".yaml") || name.hasSuffix(".yml") {
      let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
      let node = try #require(try compose(yaml: text), "\(name) is empty")
      if node.mapping?["godwit"] != nil {
        #expect(try JSONSchema(named: "job.schema.json").findings(node) == [], "\(name)")
        _ = try manifest(Array(text.utf8), path: folder.appending(path: name).path)
      } else if node.mapping?["godwit-mapping"] != nil {
        #expect(try JSONSchema(named: "mapping.schema.json").findings(node) == [], "\(name)")
        _ = try mappingModel(Array(text.utf8), path: folder.appending(path: name).path)
      }
    }
  }
}
