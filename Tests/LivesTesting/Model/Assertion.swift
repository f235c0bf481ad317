import AppStore
import OpenSSL

/// What one signed payload says. Statements about one thing are put in order by when they were signed, then by a hash of their bytes.
struct Assertion {
    var environment: String
    /// The payload with Apple's names.
    var json: JSONObject
    /// Milliseconds since 1970.
    var signed: Int64
    var status: Status?
    var hash: [UInt8]

    /// What a transaction's payload says.
    init(_ payload: LifeEvent.Payload, environment: AppStoreEnvironment) {
        self.environment = environment.rawValue
        json = payload.json
        signed = payload.signedDate.millisecondsSince1970
        hash = Digest.sha256(payload.bytes)
    }

    /// What a renewal info's payload and the status beside it say: the two are one assertion.
    init(_ payload: LifeEvent.Payload, environment: AppStoreEnvironment, status: Status?) {
        self.init(payload, environment: environment)
        self.status = status
        hash += withUnsafeBytes(of: (status?.rawValue ?? 0).bigEndian) { Array($0) }
    }

    static func older(_ left: Assertion, _ right: Assertion) -> Bool {
        left.signed != right.signed ? left.signed < right.signed : left.hash.lexicographicallyPrecedes(right.hash)
    }

    func text(_ member: String) -> String? { json[member]?.text }
    func number(_ member: String) -> Int64? { json[member]?.text.flatMap(Int64.init) }
}

extension JSONValue {
    /// The value as PostgreSQL writes it as text.
    fileprivate var text: String? {
        switch self {
        case .string(let value): value
        case .number(let value): value.int64.map(String.init)
        case .bool(let value): value ? "true" : "false"
        case .null, .array, .object: nil
        }
    }
}
