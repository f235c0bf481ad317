import Postgres

/// Privileges that roles of others have on the schema's objects. PostgreSQL keeps them on an object that is replaced, and drops them with it.
extension SchemaMigrator {
    /// A privilege that a role has on an object of the schema.
    struct ForeignGrant: Hashable {
        /// `TABLE`, for views, too, or `SEQUENCE`, `ROUTINE`.
        let kind: String
        /// As GRANT takes it: `appstore.payments`, `appstore.forget(text,text)`.
        let object: String
        let column: String?
        let privilege: String
        let grantee: String
        let isGrantable: Bool
    }

    /// The privileges of all roles but the program's.
    func foreignGrants() async throws -> Set<ForeignGrant> {
        let rows = try await connection.query(
            """
            SELECT g.kind, g.object, g.column_name, g.privilege_type, r.rolname::text AS grantee, g.is_grantable
            FROM (
                SELECT CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END AS kind, c.oid::regclass::text AS object, NULL AS column_name, acl.*
                FROM pg_catalog.pg_class AS c, aclexplode(c.relacl) AS acl
                WHERE c.relnamespace IN ('appstore'::regnamespace, 'appstore_reports'::regnamespace)
                UNION ALL
                SELECT 'TABLE', c.oid::regclass::text, a.attname, acl.*
                FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND NOT a.attisdropped, aclexplode(a.attacl) AS acl
                WHERE c.relnamespace IN ('appstore'::regnamespace, 'appstore_reports'::regnamespace)
                UNION ALL
                SELECT 'ROUTINE', p.oid::regprocedure::text, NULL, acl.*
                FROM pg_catalog.pg_proc AS p, aclexplode(p.proacl) AS acl
                WHERE p.pronamespace IN ('appstore'::regnamespace, 'appstore_reports'::regnamespace)
            ) AS g JOIN pg_catalog.pg_roles AS r ON r.oid = g.grantee
            WHERE r.rolname <> ALL (\(Self.roles))
            """
        )
        return Set(
            try rows.map { row in
                ForeignGrant(
                    kind: try row.decode("kind"),
                    object: try row.decode("object"),
                    column: try row.decode("column_name"),
                    privilege: try row.decode("privilege_type"),
                    grantee: try row.decode("grantee"),
                    isGrantable: try row.decode("is_grantable")
                )
            }
        )
    }

    /// Grants again what roles of others have lost with a dropped object that was made again.
    ///
    /// - Parameter grants: those before. A function whose arguments have changed counts as the same if no other has its name.
    func restore(_ grants: Set<ForeignGrant>) async throws {
        for grant in grants.subtracting(try await foreignGrants()) {
            let rows = try await connection.query(
                """
                SELECT format('GRANT %s%s ON %s %s TO %I%s', \(grant.privilege), ' (' || quote_ident(\(grant.column)) || ')', \(grant.kind), found.object,
                              \(grant.grantee), CASE WHEN \(grant.isGrantable) THEN ' WITH GRANT OPTION' ELSE '' END) AS script
                FROM (SELECT to_regclass(\(grant.object))::text WHERE \(grant.kind) <> 'ROUTINE'
                      UNION ALL
                      -- Before 16 to_regprocedure fails where a type of an argument is gone.
                      SELECT coalesce((SELECT p.oid::regprocedure FROM pg_catalog.pg_proc AS p WHERE p.oid::regprocedure::text = \(grant.object)),
                                      to_regproc(split_part(\(grant.object), '(', 1))::oid::regprocedure)::text
                      WHERE \(grant.kind) = 'ROUTINE') AS found (object)
                WHERE found.object IS NOT NULL
                  AND (\(grant.column)::text IS NULL
                       OR EXISTS (SELECT FROM pg_catalog.pg_attribute AS a
                                  WHERE a.attrelid = to_regclass(\(grant.object)) AND a.attname = \(grant.column) AND NOT a.attisdropped))
                """
            )
            for row in rows { try await connection.runScript(try row.decode("script")) }
        }
    }
}
