import StrictJSON

/// Reads the body of an event; what is malformed is thrown as the caller names it.
extension JSONObject {
    init<Malformed: Error>(body: [UInt8], or malformed: Malformed) throws(Malformed) {
        do {
            self = try JSONParser().parseObject(body)
        } catch {
            throw malformed
        }
    }

    func required<Malformed: Error>(_ name: String, or malformed: Malformed) throws(Malformed) -> String {
        guard let text = try text(name, or: malformed) else { throw malformed }
        return text
    }

    func text<Malformed: Error>(_ name: String, or malformed: Malformed) throws(Malformed) -> String? {
        switch self[name] {
        case nil, .null?: nil
        case .string(let text)?: text
        default: throw malformed
        }
    }

    func texts<Malformed: Error>(_ name: String, or malformed: Malformed) throws(Malformed) -> [String]? {
        switch self[name] {
        case nil, .null?: return nil
        case .array(let elements)?:
            let texts = elements.compactMap { element -> String? in if case .string(let text) = element { text } else { nil } }
            guard texts.count == elements.count else { throw malformed }
            return texts
        default: throw malformed
        }
    }
}
