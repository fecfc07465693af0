import Foundation

/// A JSON Schema of something that Godwit reads or prints, as the executable contains it.
package struct PublishedSchema: Sendable {
  /// The name of its file without `.schema.json`.
  package let name: String
  private let bytes: [UInt8]

  /// The schema itself.
  package var text: String { String(decoding: bytes, as: UTF8.self) }

  private struct Head: Decodable { var title, description: String }
  private var head: Head? { try? JSONDecoder().decode(Head.self, from: Data(bytes)) }

  package var title: String { head?.title ?? "" }
  package var description: String { head?.description ?? "" }

  /// All, by name.
  package static let all: [PublishedSchema] = files.map { PublishedSchema(name: $0, bytes: $1) }

  private static let files: [(String, [UInt8])] = [
    ("audit", PackageResources.audit_schema_json),
    ("compact", PackageResources.compact_schema_json),
    ("discard", PackageResources.discard_schema_json),
    ("error", PackageResources.error_schema_json),
    ("export-raw", PackageResources.export_raw_schema_json),
    ("export", PackageResources.export_schema_json),
    ("init", PackageResources.init_schema_json),
    ("inspect", PackageResources.inspect_schema_json),
    ("job", PackageResources.job_schema_json),
    ("lint", PackageResources.lint_schema_json),
    ("log", PackageResources.log_schema_json),
    ("make-store", PackageResources.make_store_schema_json),
    ("mapping-result", PackageResources.mapping_result_schema_json),
    ("mapping", PackageResources.mapping_schema_json),
    ("model-diff", PackageResources.model_diff_schema_json),
    ("model-extract", PackageResources.model_extract_schema_json),
    ("model-hash", PackageResources.model_hash_schema_json),
    ("model-schema", PackageResources.model_schema_schema_json),
    ("models-lock", PackageResources.models_lock_schema_json),
    ("plan-diff", PackageResources.plan_diff_schema_json),
    ("plan", PackageResources.plan_schema_json),
    ("policy-stub", PackageResources.policy_stub_schema_json),
    ("progress", PackageResources.progress_schema_json),
    ("receipt", PackageResources.receipt_schema_json),
    ("results", PackageResources.results_schema_json),
    ("salvage", PackageResources.salvage_schema_json),
    ("schemas", PackageResources.schemas_schema_json),
    ("status", PackageResources.status_schema_json),
    ("stores", PackageResources.stores_schema_json),
    ("test", PackageResources.test_schema_json),
    ("trace", PackageResources.trace_schema_json),
    ("verify", PackageResources.verify_schema_json),
    ("why", PackageResources.why_schema_json),
  ]
}
