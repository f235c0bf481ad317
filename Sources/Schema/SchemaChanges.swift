/// The changes of a run of ``SchemaMigrator/migrate()``.
package struct SchemaChanges: Hashable, Sendable {
    /// The version of the created schema; nil when the database had one.
    package var created: Int?
    /// The names of the steps that were applied, in order.
    package var steps: [String] = []
    /// Whether functions, views and privileges were replaced.
    package var isRedefined = false

    package var isEmpty: Bool { self == SchemaChanges() }
}

/// A sentence for the operator.
extension SchemaChanges: CustomStringConvertible {
    package var description: String {
        if let created { return "The schema is made, in version \(created)." }
        if isEmpty { return "The schema is current." }
        return "Applied \(parts.joined(separator: ", "))."
    }

    /// The names of what is applied to a schema that exists.
    var parts: [String] { steps + (isRedefined ? ["functions, views and privileges"] : []) }
}
