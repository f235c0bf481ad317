import Foundation
import Postgres
import Synchronization

/// The database of one test. It is dropped some time after the last copy of this value is gone, when no session uses it any more.
package struct TestDatabase: Sendable {
    package let name: String
    package let cluster: TestCluster
    private let use: Lease?

    fileprivate init(name: String, cluster: TestCluster, use: Lease? = nil) {
        (self.name, self.cluster, self.use) = (name, cluster, use)
    }

    /// A URL for that role, without a password.
    package func url(user: String = "postgres") -> String {
        cluster.url(database: name, user: user)
    }

    /// A TCP URL, for clients that cannot use a Unix socket.
    package func tcpURL(user: String = "postgres") -> String {
        "postgresql://\(user)@127.0.0.1:\(cluster.port)/\(name)"
    }

    /// Drops the database now, and ends its sessions.
    package func drop() async throws {
        let statement: Statement = "DROP DATABASE \(identifier: name) WITH (FORCE)"
        try await cluster.started().withConnection { connection in _ = try await connection.execute(statement) }
    }
}

/// Names a database as unused at its end.
private final class Lease: Sendable {
    private let name: String
    private let cluster: TestCluster

    init(of name: String, on cluster: TestCluster) { (self.name, self.cluster) = (name, cluster) }

    deinit { cluster.unused.withLock { $0.append(name) } }
}

extension TestCluster {
    /// A database that this cluster has, such as a standby that of its primary.
    package func database(named name: String) -> TestDatabase {
        TestDatabase(name: name, cluster: self)
    }

    /// Whether this build of PostgreSQL has ICU. One without it has a row of the provider all the same, of the collation `unicode`.
    package func hasICU() async throws -> Bool {
        try await started().withConnection { connection in
            try await !connection.query("SELECT FROM pg_collation WHERE collname = 'und-x-icu'").isEmpty
        }
    }

    /// Makes an empty database.
    ///
    /// - Parameter options: Options of CREATE DATABASE, such as a locale.
    package func makeDatabase(options: String = "") async throws -> TestDatabase {
        try await makeDatabase(copying: "template0", options: options)
    }

    /// Makes a database that is a copy of a template.
    ///
    /// - Parameters:
    ///   - prepare: Fills the template, given a superuser URL. Called once per process and key; must close its connections.
    ///   - templateKey: Identifies the template.
    ///   - options: Options of the template's CREATE DATABASE, such as a locale, which its copies inherit.
    package func makeDatabase(
        prepare: @escaping @Sendable (_ url: String) async throws -> Void,
        templateKey: String,
        options: String = ""
    ) async throws -> TestDatabase {
        let template = templates.withLock { templates in
            let once = templates[templateKey] ?? Once<String>()
            templates[templateKey] = once
            return once
        }
        _ = try await started()
        let name = try await template.value {
            try await self.templateLock.withConnection { _ in
                let database = try await self.create(copying: "template0", options: options)
                try await prepare(database.url())
                return database.name
            }
        }
        return try await makeDatabase(copying: name)
    }

    /// Lends a database for the length of `body` and drops it.
    package func withDatabase<T: Sendable>(_ body: (TestDatabase) async throws -> T) async throws -> T {
        let database = try await makeDatabase()
        let value = try await body(database)
        try await database.drop()
        return value
    }

    private func makeDatabase(copying template: String, options: String = "") async throws -> TestDatabase {
        try await dropUnused()
        let name = try await create(copying: template, options: options).name
        return TestDatabase(name: name, cluster: self, use: Lease(of: name, on: self))
    }

    private func create(copying template: String, options: String) async throws -> TestDatabase {
        let name = "test_" + UUID().uuidString.lowercased().replacingOccurrences(of: "-", with: "")
        let statement: Statement = "CREATE DATABASE \(identifier: name) TEMPLATE \(identifier: template) \(unsafeRaw: options)"
        try await started().withConnection { connection in _ = try await connection.execute(statement) }
        return TestDatabase(name: name, cluster: self)
    }

    /// Thousands of databases would take tens of gigabytes. Those that a session still uses wait for the next call.
    private func dropUnused() async throws {
        let names = unused.withLock { names in
            defer { names = [] }
            return names
        }
        guard !names.isEmpty else { return }
        try await started().withConnection { connection in
            let used = try await connection.query(
                "SELECT DISTINCT datname::text FROM pg_stat_activity WHERE datname = ANY (\(names))"
            )
            let kept = Set(try used.map { try $0.decode(0, as: String.self) })
            self.unused.withLock { $0 += kept }
            for name in names where !kept.contains(name) {
                _ = try await connection.execute("DROP DATABASE IF EXISTS \(identifier: name)")
            }
        }
    }
}
