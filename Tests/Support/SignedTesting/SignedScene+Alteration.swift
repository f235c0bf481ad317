import AppStore
package import StoreSimulator
package import StrictJSON

extension SignedScene {
    /// Changes a payload before it is signed.
    package typealias Change = (inout JSONObject) -> Void

    /// The JWS of a notification whose payloads are changed before signing, for content that the simulator does not produce.
    package static func sign(
        _ notification: SimulatedNotification,
        outer: Change = { _ in },
        data: Change = { _ in },
        transaction: @escaping Change = { _ in },
        renewalInfo: @escaping Change = { _ in }
    ) throws -> [UInt8] {
        let signer = try signer()
        var payload = try Self.payload(of: signer.sign(notification).jws)
        if case .object(var content)? = payload["data"] {
            for (member, change) in [("signedTransactionInfo", transaction), ("signedRenewalInfo", renewalInfo)] {
                guard case .string(let nested)? = content[member] else { continue }
                var inner = try Self.payload(of: Array(nested.utf8))
                change(&inner)
                content[member] = .string(String(decoding: try signer.sign(inner), as: UTF8.self))
            }
            data(&content)
            payload["data"] = .object(content)
        }
        outer(&payload)
        return try signer.sign(payload)
    }

    private static func payload(of jws: [UInt8]) throws -> JSONObject {
        try JSONParser().parseObject(CompactJWS(jws).payload)
    }
}
