package import Foundation
import Postgres
package import PostgresTesting
import SQL
import Schema

/// The releases in `sql/releases`, from which tests upgrade.
package enum ReleasedSchema {
    package static let folder = URL(filePath: #filePath).appending(path: "../../../../sql/releases").standardized

    /// A database that the release has made, without events.
    ///
    /// - Parameter withRows: whether it has a row in each table.
    package static func install(_ version: Int, withRows: Bool = false, in cluster: TestCluster = .shared) async throws -> TestDatabase {
        try await cluster.makeDatabase(
            prepare: { url in
                let connection = try await Connection.open(ConnectionOptions(url), logger: .silent)
                try await connection.runScript(SchemaManifest().roles.text)
                for file in withRows ? ["\(version).sql", "\(version).rows.sql"] : ["\(version).sql"] {
                    try await connection.runScript(String(contentsOf: folder.appending(path: file), encoding: .utf8))
                }
                await connection.close()
            },
            templateKey: "release \(version) \(withRows)"
        )
    }
}
