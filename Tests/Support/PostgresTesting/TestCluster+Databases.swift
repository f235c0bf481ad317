import Foundation
import Postgres
import Synchronization

/// The database of one test.
package struct TestDatabase: Sendable {
    package let name: String
    package let cluster: TestCluster

    /// A URL for that role, without a password.
    package func url(user: String = "postgres") -> String {
        cluster.url(database: name, user: user)
    }

    /// A TCP URL, for clients that cannot use a Unix socket.
    package func tcpURL(user: String = "postgres") -> String {
        "postgresql://\(user)@127.0.0.1:\(cluster.port)/\(name)"
    }

    /// Drops the database and ends its sessions. Optional: the whole cluster is deleted at the end.
    package func drop() async throws {
        let statement: Statement = "DROP DATABASE \(identifier: name) WITH (FORCE)"
        try await cluster.started().withConnection { connection in _ = try await connection.execute(statement) }
    }
}

extension TestCluster {
    /// A database that this cluster has, such as a standby that of its primary.
    package func database(named name: String) -> TestDatabase {
        TestDatabase(name: name, cluster: self)
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
                let database = try await self.makeDatabase(options: options)
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
        let name = "test_" + UUID().uuidString.lowercased().replacingOccurrences(of: "-", with: "")
        let statement: Statement = "CREATE DATABASE \(identifier: name) TEMPLATE \(identifier: template) \(unsafeRaw: options)"
        try await started().withConnection { connection in _ = try await connection.execute(statement) }
        return TestDatabase(name: name, cluster: self)
    }
}
