import AppStore
import FoundationEssentials
import Postgres
import SQL
import StrictJSON

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

/// How far an import is.
struct ImportProgress: Sendable {
    let id: Int32
    private let bundleID: String
    private let environment: String?
    private let depth: String
    private let fileName: String
    let state: String
    private let madeBy: String
    private let madeAt: Timestamp
    private let endedAt: Timestamp?
    private let items: Int64
    /// The greatest line of its items.
    let lastLine: Int
    private let repeated: Int32
    private let badLines: Int32
    private let found: Int32
    private let covered: Int32
    private let unknown: Int32
    private let failed: Int32
    /// Asked once more a day later.
    private let waiting: Int32
    private let remaining: Int64
    private let failingWith: String?
    /// Items a second.
    private let rate: Double?
    /// Requests a second.
    private let allowance: Double?
    private let blockedUntil: Timestamp?
    /// In seconds.
    private let timeLeft: Int64?
    private let leastTime: Int64?

    init(_ row: Row) throws {
        id = try row.decode("import_id")
        bundleID = try row.decode("bundle_id")
        environment = try row.decode("environment")
        depth = try row.decode("depth")
        fileName = try row.decode("file_name")
        state = try row.decode("state")
        madeBy = try row.decode("made_by")
        madeAt = Timestamp(try row.decode("made_at", as: PostgresTimestamp.self))
        endedAt = try row.decode("ended_at", as: PostgresTimestamp?.self).map { Timestamp($0) }
        items = Int64(try row.decode("items", as: Int32.self))
        lastLine = Int(try row.decode("last_line", as: Int32.self))
        repeated = try row.decode("repeated")
        badLines = try row.decode("bad_lines")
        found = try row.decode("found")
        covered = try row.decode("covered")
        unknown = try row.decode("unknown")
        failed = try row.decode("failed")
        waiting = try row.decode("waiting")
        remaining = Int64(try row.decode("remaining", as: Int32.self))
        failingWith = try row.decode("failing_with")
        rate = try row.decode("rate")
        allowance = try row.decode("allowance")
        blockedUntil = try row.decode("blocked_until", as: PostgresTimestamp?.self).map { Timestamp($0) }
        timeLeft = try row.decode("time_left")
        leastTime = try row.decode("least_time")
    }

    var isRunning: Bool { state == "running" }

    /// Whole per cents, rounded down: 100 only at the end.
    private var percent: Int { items > 0 ? Int((items - remaining) * 100 / items) : 100 }

    var json: JSONObject {
        [
            "import": .integer(id), "bundleId": .string(bundleID), "environment": .optional(environment),
            "depth": .string(depth), "file": .string(fileName), "state": .string(state), "madeBy": .string(madeBy),
            "madeAt": .string(madeAt.description), "endedAt": .optional(endedAt?.description),
            "items": .integer(items), "repeated": .integer(repeated), "badLines": .integer(badLines), "found": .integer(found),
            "covered": .integer(covered), "unknown": .integer(unknown), "failed": .integer(failed), "waiting": .integer(waiting),
            "remaining": .integer(remaining), "failingWith": .optional(failingWith),
            "rate": .optional(rate?.shown), "allowance": .optional(allowance?.shown), "blockedUntil": .optional(blockedUntil?.description),
            "secondsLeft": .optional(timeLeft), "leastSeconds": .optional(leastTime),
        ]
    }

    /// A bar with the rate and the time left, on one line.
    var bar: String {
        let filled = 30 * percent / 100
        let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: 30 - filled)
        var parts = ["\(items - remaining) of \(items)"]
        if isRunning, let rate { parts.append("\(rate.shown)/s") }
        if let timeLeft { parts.append("about \(Int(timeLeft).asDuration) left") }
        return "[\(bar)] \(percent) % \(parts.joined(separator: ", "))"
    }

    var lines: [String] {
        let scope = [bundleID.onOneLineSafely, environment, depth, fileName.onOneLineSafely, state].compactMap(\.self)
        var lines = ["import \(id)  \(scope.joined(separator: "  "))", "    \(bar)"]
        lines.append("    found \(found), covered \(covered), unknown \(unknown), failed \(failed)")
        if waiting > 0 { lines.append("    \(waiting) that Apple does not know are asked once more a day later") }
        if isRunning, let blockedUntil { lines.append("    blocked until \(blockedUntil)") }
        if isRunning, let failingWith { lines.append("    waits: \(failingWith.onOneLineSafely)") }
        if isRunning, let allowance, let leastTime {
            lines.append("    Apple's limit allows \(allowance.shown)/s: \(Int(leastTime).asDuration)")
        }
        if badLines > 0 { lines.append("    \(badLines) lines of the file were not imported") }
        return lines
    }
}

extension Double {
    /// With one digit after the point where it is small.
    fileprivate var shown: String { self < 10 ? "\((self * 10).rounded() / 10)" : "\(Int64(self.rounded()))" }
}

/// An item of an import that brought nothing, or no owner, or a line whose token was refused.
struct ImportMiss: Sendable {
    let line: Int32
    private let id: String
    private let userID: String?
    private let environment: String?
    private let why: String
    private let asked: Int32
    /// The token that was refused or is not set.
    private let token: UUID?

    init(_ row: Row) throws {
        line = try row.decode("line")
        id = try row.decode("id")
        userID = try row.decode("user_id")
        environment = try row.decode("environment")
        why = try row.decode("why")
        asked = try row.decode("asked")
        token = try row.decode("token")
    }

    var json: JSONObject {
        [
            "line": .integer(line), "id": .string(id), "userId": .optional(userID),
            "environment": .optional(environment), "why": .string(why), "asked": .integer(asked),
            "token": .optional(token?.uuidString.lowercased()),
        ]
    }

    /// Names that `import new` reads.
    static let head = ["line", "transaction_id", "user_id", "environment", "why", "asked", "token"]

    var fields: [String] { ["\(line)", id, userID ?? "", environment ?? "", why, "\(asked)", token?.uuidString.lowercased() ?? ""] }

    /// A line of CSV, without its end.
    static func csv(_ fields: [String]) -> String {
        fields.map { field in
            let isPlain = !field.utf8.contains { [0x22, 0x2C, 0x0A, 0x0D].contains($0) }
            return isPlain ? field : "\"" + field.replacing("\"", with: "\"\"") + "\""
        }.joined(separator: ",")
    }
}
