import AppStore
import HTML
import Postgres
import SQL
import StrictJSON

/// Shows the body of an event once, and writes to the audit log who has read it.
struct ShowBody: ConsoleAction {
    let path = "/events/{id}/body"
    let area = ConsoleArea.events
    let right = ConsoleRight.showBodies

    /// Bytes that are shown: a receipt has megabytes.
    private static let limit = 12_000
    /// The most bytes of a body whose payloads are decoded, and the most payloads: the console has little memory.
    private static let (decodedBytes, payloads) = (256 * 1024, 50)

    func perform(_ form: ActionForm, _ context: ConsoleContext) async throws -> ActionAnswer {
        let id = try form.number("id")
        let note = try form.required("note", "Why do you read it?")
        let statement = Statement(.consoleShowBody, ["event_id": id, "note": note])
        guard let bytes = try await context.transaction.query(statement).first?.decode("body", as: [UInt8].self) else {
            throw ConsoleProblem.notFound("There is no event \(id).")
        }
        let page = Page(
            title: "Body of event \(id)",
            elsewhere: Elsewhere(
                psql: ["SELECT convert_from(appstore.show_body(\(id), \(note)), 'UTF8');"],
                commands: ["appstore-inbox explain \(id)"]
            )
        ) {
            p { "That you have read it is in the audit log. It is a customer’s data. Nothing here vouches for a signature." }
            if bytes.count > Self.decodedBytes { p { "Its payloads are not decoded here: it has more than \(Self.decodedBytes) bytes." } }
            for payload in DecodedPayload.all(in: bytes.count > Self.decodedBytes ? [] : bytes).prefix(Self.payloads) {
                h2 { payload.location }
                pre { payload.text.start(Self.limit) }
            }
            details {
                summary { "The body as it was received, \(bytes.count) bytes" }
                pre { String(decoding: bytes.prefix(Self.limit), as: UTF8.self) }
                if bytes.count > Self.limit { p { "The first \(Self.limit) bytes are shown." } }
            }
            p { a(.href(context.url("events", "\(id)"))) { "Back to event \(id)" } }
        }
        return .page(page)
    }
}

/// The payload of a JWS in a body, decoded without a check.
struct DecodedPayload {
    let location: String
    let text: String

    /// Those of all JWS in a JSON body, outermost first.
    static func all(in body: [UInt8]) -> [DecodedPayload] {
        do {
            return all(in: .object(try JSONParser().parseObject(body)), at: "")
        } catch {
            return []
        }
    }

    private static func all(in value: JSONValue, at path: String) -> [DecodedPayload] {
        switch value {
        case .object(let object):
            return object.members.flatMap { all(in: $0.value, at: path.isEmpty ? $0.name : "\(path).\($0.name)") }
        case .array(let elements): return elements.enumerated().flatMap { all(in: $1, at: "\(path)[\($0)]") }
        case .string(let text) where text.utf8.count > 100 && CompactJWS.hasShape(text):
            do {
                let payload = try JSONParser().parseObject(CompactJWS(Array(text.utf8)).payload)
                return [DecodedPayload(location: path, text: lines(payload, at: path))] + all(in: .object(payload), at: path)
            } catch {
                return [DecodedPayload(location: path, text: "It cannot be decoded.")]
            }
        case .string, .number, .bool, .null: return []
        }
    }

    /// A member on each line; a JWS stands by itself, under its path.
    private static func lines(_ object: JSONObject, at path: String, indent: String = "") -> String {
        object.members.map { member in
            switch member.value {
            case .object(let inner): "\(indent)\(member.name):\n" + lines(inner, at: "\(path).\(member.name)", indent: indent + "  ")
            case .string(let text) where text.utf8.count > 100 && CompactJWS.hasShape(text): "\(indent)\(member.name): see below"
            case .string(let text): "\(indent)\(member.name): \(text)"
            default: "\(indent)\(member.name): " + String(decoding: JSONSerializer.serialize(member.value), as: UTF8.self)
            }
        }.joined(separator: "\n")
    }
}

extension String {
    fileprivate func start(_ count: Int) -> String { String(prefix(count)) }
}
