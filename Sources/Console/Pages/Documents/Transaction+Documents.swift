import Postgres
import StrictJSON

extension Transaction {
    /// The rows of a statement that returns JSON objects in its column `document`.
    func documents(_ statement: Statement) async throws -> [JSONObject] {
        try await query(statement).map { try JSONParser().parseObject(Array(try $0.decode("document", as: String.self).utf8)) }
    }

    /// The only row of such a statement; nil where there is none, or where it is null.
    func document(_ statement: Statement) async throws -> JSONObject? {
        let text = try await query(statement).first?.decode("document", as: String?.self)
        return try text.flatMap(\.self).map { try JSONParser().parseObject(Array($0.utf8)) }
    }
}
