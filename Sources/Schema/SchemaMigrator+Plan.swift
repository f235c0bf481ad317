import Postgres
import SQL

/// What a run of ``SchemaMigrator/migrate()`` would do.
package struct SchemaPlan: Hashable, Sendable {
    /// Roles that it would make.
    package let roles: [String]
    package let changes: SchemaChanges
}

/// Sentences for the operator.
extension SchemaPlan: CustomStringConvertible {
    package var description: String {
        var lines = roles.isEmpty ? [] : ["Would make the roles \(roles.joined(separator: ", "))."]
        if let created = changes.created {
            lines.append("Would make the schema, in version \(created).")
        } else {
            lines.append(changes.isEmpty ? "The schema is current." : "Would apply \(changes.parts.joined(separator: ", ")).")
        }
        return lines.joined(separator: "\n")
    }
}

extension SchemaMigrator {
    /// What ``migrate()`` would do; changes nothing.
    ///
    /// - Throws: ``SchemaError`` as far as the reasons for which ``migrate()`` would fail can be seen.
    package func plan() async throws -> SchemaPlan {
        try await connection.runScript("SET default_transaction_read_only = on")
        try await requireUTF8()
        let roles = try await missingRoles()
        let known = try await knownVersion()
        var changes = SchemaChanges()
        if known == 0 {
            changes.created = manifest.version
        } else {
            changes.steps = manifest.steps.filter { $0.version > known }.map(\.file.name)
            try await actAsOwner()
            changes.isRedefined = changes.steps.isEmpty ? try await isOutdated() : true
            if changes.isEmpty { try await requireOwnObjects() }
        }
        return SchemaPlan(roles: roles, changes: changes)
    }

    /// A line for each version: what the database was made with or has applied since, and what it lacks.
    package func versions() async throws -> [String] {
        let known = try await version()
        guard known > 0 else { return ["\(manifest.version)  the whole schema, not made yet"] }
        let rows = try await connection.query(
            """
            SELECT version, name, is_breaking, to_char(applied_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS applied_at
            FROM appstore.schema_history ORDER BY version
            """
        )
        let applied = try rows.map { row in
            let version = try row.decode("version", as: Int32.self)
            let breaking = try row.decode("is_breaking") ? ", breaking" : ""
            let unknown = version > manifest.version ? ", unknown to this program" : ""
            let time = try row.decode("applied_at", as: String.self)
            return "\(version)  \(try row.decode("name", as: String.self)), applied \(time)\(breaking)\(unknown)"
        }
        let missing = manifest.steps.filter { $0.version > known }.map { step in
            "\(step.version)  \(step.file.name), not applied yet\(step.isBreaking ? ", breaking" : "")"
        }
        return applied + missing
    }
}
