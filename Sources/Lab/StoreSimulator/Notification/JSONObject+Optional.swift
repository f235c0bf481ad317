import AppStore
import FoundationEssentials
import StrictJSON

/// Adds members, and leaves out those without a value: Apple never writes `null`.
extension JSONObject {
    mutating func add(_ name: String, _ value: String?) {
        if let value { self[name] = .string(value) }
    }

    mutating func add(_ name: String, _ value: (some BinaryInteger)?) {
        if let value { self[name] = .integer(value) }
    }

    mutating func add(_ name: String, _ value: Bool?) {
        if let value { self[name] = .bool(value) }
    }

    mutating func add(_ name: String, _ value: Timestamp?) {
        if let value { self[name] = .timestamp(value) }
    }

    /// In lower case, as Apple writes UUIDs.
    mutating func add(_ name: String, _ value: UUID?) {
        add(name, value?.uuidString.lowercased())
    }

    mutating func add(_ name: String, _ value: JSONObject?) {
        if let value { self[name] = .object(value) }
    }
}
