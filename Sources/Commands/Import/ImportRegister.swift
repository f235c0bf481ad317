import Postgres
import SQL

/// The imports in the database.
struct ImportRegister: Sendable {
    /// There is no such import.
    struct Unknown: Error, CustomStringConvertible {
        let id: Int32

        var description: String { "there is no import \(id): appstore-inbox import status lists them" }
    }

    let connection: Connection

    /// One of them, or the last hundred, the newest first.
    ///
    /// - Throws: ``Unknown``.
    func progress(of id: Int32?) async throws -> [ImportProgress] {
        let found = try await connection.query(.importReadStatus(importID: id)).map(ImportProgress.init)
        if let id, found.isEmpty { throw Unknown(id: id) }
        return found
    }

    /// Lets it become running, paused or stopped.
    func change(_ id: Int32, to state: String) async throws {
        _ = try await connection.query(.changeImport(importID: id, state: state))
    }

    /// The lines of which `import_read_misses` lists the misses.
    static let page = 20_000

    /// Those of the next lines that brought nothing.
    func misses(of id: Int32, after line: Int) async throws -> [ImportMiss] {
        try await connection.query(.importReadMisses(importID: id, after: Int32(clamping: line))).map(ImportMiss.init)
    }
}
