import AppStore
import FoundationEssentials
import HTTPServing
import NIOCore
import StrictJSON

/// The JSON object in the body of a request. A null member counts as absent.
struct RequestObject {
    private let object: JSONObject

    /// Reads the body of a request.
    ///
    /// - Parameter known: the allowed members.
    /// - Throws: status 400 or 415, also for an unknown member.
    init(_ request: Request, known: [String]) throws(Problem) {
        try request.checkJSON()
        do {
            object = try JSONParser().parseObject(Array(buffer: request.body))
        } catch {
            throw error.code == .notAnObject ? .notAnObject : .notJSON
        }
        guard object.members.allSatisfy({ known.contains($0.name) }) else { throw .unknownMember(known: known) }
    }

    /// Optional text of 1 to 255 characters.
    func text(_ name: String) throws(Problem) -> String? {
        switch object[name] {
        case nil, .null?: return nil
        case .string(let text)? where text.isName: return text
        default: throw .invalidMember(name, "\(name) must be text of 1 to 255 characters, without U+0000.")
        }
    }

    /// Optional text of at most so many characters.
    func text(_ name: String, atMost count: Int) throws(Problem) -> String? {
        switch object[name] {
        case nil, .null?: return nil
        case .string(let text)? where (1...count).contains(text.unicodeScalars.count) && !text.hasNUL: return text
        default: throw .invalidMember(name, "\(name) must be text of 1 to \(count) characters, without U+0000.")
        }
    }

    /// An optional boolean.
    func flag(_ name: String) throws(Problem) -> Bool? {
        switch object[name] {
        case nil, .null?: return nil
        case .bool(let flag)?: return flag
        default: throw .invalidMember(name, "\(name) must be true or false.")
        }
    }

    /// An optional integer of 32 bits.
    func integer(_ name: String) throws(Problem) -> Int32? {
        switch object[name] {
        case nil, .null?: return nil
        case .number(let number)?:
            if let integer = number.int64.flatMap(Int32.init(exactly:)) { return integer }
            fallthrough
        default: throw .invalidMember(name, "\(name) must be an integer.")
        }
    }

    /// An optional object, which PostgreSQL can store.
    func object(_ name: String) throws(Problem) -> JSONObject? {
        switch object[name] {
        case nil, .null?: return nil
        case .object(let object)? where JSONValue.object(object).fitsJSONB: return object
        case .object?:
            throw .invalidMember(
                name,
                "\(name) must have no U+0000, and no number beyond 131072 digits before the point or 16383 after it."
            )
        default: throw .invalidMember(name, "\(name) must be an object.")
        }
    }

    /// Required text of 1 to 255 characters.
    func requiredText(_ name: String) throws(Problem) -> String {
        guard let text = try text(name) else { throw .invalidMember(name, "\(name) must be there.") }
        return text
    }

    /// Required text that only the size of the body limits.
    func requiredData(_ name: String) throws(Problem) -> String {
        guard case .string(let text)? = object[name], !text.isEmpty, !text.hasNUL else {
            throw .invalidMember(name, "\(name) must be text, not empty and without U+0000.")
        }
        return text
    }

    /// An optional appAccountToken, such as an order number: a UUID, but not of version 8 (RFC 9562, section 5.8), which orders of renewals use.
    func token(_ name: String) throws(Problem) -> UUID? {
        guard let text = try text(name) else { return nil }
        guard let uuid = UUID(uuidString: text), uuid.uuid.6 >> 4 != 8 else {
            throw .invalidMember(name, "\(name) must be a UUID, and not one of version 8, as the orders of renewals have.")
        }
        return uuid
    }
}
