import Postgres
import StrictJSON

extension Transaction {
    /// The rows of a statement that returns JSON objects in its only column.
    func documents(_ statement: Statement) async throws -> [JSONObject] {
        try await query(statement).map { try JSONParser().parseObject(Array(try $0.decode(0, as: JSONText.self).text.utf8)) }
    }

    /// The only row of such a statement; nil where there is none, or where it is null.
    func document(_ statement: Statement) async throws -> JSONObject? {
        let document = try await query(statement).first?.decode(0, as: JSONText?.self)
        return try document.flatMap(\.self).map { try JSONParser().parseObject(Array($0.text.utf8)) }
    }
}
