import FoundationEssentials
import Postgres
import StrictJSON

/// An item of an import that brought nothing, or no owner, or a line whose token was refused.
struct ImportMiss: Sendable {
    let line: Int32
    let id: String
    let userID: String?
    let environment: String?
    let why: String
    let asked: Int32
    /// The token that was refused or is not set.
    let token: UUID?

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
