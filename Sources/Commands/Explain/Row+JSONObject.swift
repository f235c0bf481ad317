import AppStore
import Postgres
import StrictJSON

extension Row {
    /// A column that PostgreSQL's `row_to_json` has written: members in the order of the columns.
    func object(_ column: String = "row") throws -> JSONObject {
        try JSONParser().parseObject(Array(try decode(column, as: String.self).utf8))
    }
}

extension Rows {
    /// The column `row` of each.
    func objects() throws -> [JSONObject] {
        try map { try $0.object() }
    }
}

extension JSONObject {
    /// A member as a word for people; nil when it is absent, null, or no single value.
    func word(_ name: String) -> String? {
        switch self[name] {
        case .string(let text)?: text
        case .number(let number)?: number.text
        case .bool(let flag)?: flag ? "true" : "false"
        default: nil
        }
    }
}
