package import AppStore
import FoundationEssentials
package import OpenSSL
import Randomness
package import StrictJSON

/// A key of the kind In-App Purchase: it signs the tokens with which a server calls the simulated App Store Server API.
package struct ServerAPIKey: Sendable {
    /// The account's issuer identifier, a UUID.
    package let issuer: String
    /// The key identifier, ten characters.
    package let id: String
    /// A revoked key is refused like an unknown one.
    package var isRevoked = false
    private let key: PrivateKey
    /// The key that verifies the tokens.
    package var publicKey: PublicKey { key.publicKey }

    /// Makes a key with libcrypto's random generator. Issuer and identifier follow from the seed, the key does not.
    package static func generate(issuer: String? = nil, seed: UInt64) throws(OpenSSLError) -> ServerAPIKey {
        var generator = SeededGenerator(seed: seed)
        let letters = Array("23456789ABCDEFGHJKLMNPQRSTUVWXYZ")
        let id = String((0..<10).compactMap { _ in letters.randomElement(using: &generator) })
        let ownIssuer = generator.uuid().uuidString.lowercased()
        return ServerAPIKey(issuer: issuer ?? ownIssuer, id: id, key: try PrivateKey.generate(.p256))
    }

    private init(issuer: String, id: String, key: PrivateKey) {
        self.issuer = issuer
        self.id = id
        self.key = key
    }

    /// Writes the key as Apple names it, `<folder>/<issuer>/SubscriptionKey_<id>.p8`, and returns the path. Creates missing folders.
    @discardableResult
    package func write(to folder: String) throws(SimulationError) -> String {
        let path = "\(folder)/\(issuer)/SubscriptionKey_\(id).p8"
        do {
            try FileManager.default.createDirectory(
                atPath: "\(folder)/\(issuer)",
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw SimulationError(.keyFolder, "cannot create the folder of \(path)", cause: error)
        }
        guard FileManager.default.createFile(atPath: path, contents: Data(key.pem.utf8), attributes: [.posixPermissions: 0o600]) else {
            throw SimulationError(.keyFolder, "cannot write \(path)")
        }
        return path
    }

    /// A token that the simulated API accepts.
    package func token(for bundleID: String, at now: Timestamp, lifetime: Duration = .seconds(300)) throws(OpenSSLError) -> String {
        try token(header: header, claims: claims(for: bundleID, at: now, lifetime: lifetime))
    }

    /// A token of any header and claims, also of wrong ones.
    package func token(header: JSONObject, claims: JSONObject) throws(OpenSSLError) -> String {
        let input = [header, claims].map { Base64URL.encode(JSONSerializer.serialize($0)) }.joinedByDots()
        return String(decoding: [input, Base64URL.encode(try key.signES256(input))].joinedByDots(), as: UTF8.self)
    }

    /// The header of a good token.
    package var header: JSONObject { ["alg": "ES256", "kid": .string(id), "typ": "JWT"] }

    /// The claims of a good token.
    package func claims(for bundleID: String, at now: Timestamp, lifetime: Duration = .seconds(300)) -> JSONObject {
        let issuedAt = now.millisecondsSince1970 / 1000
        return [
            "iss": .string(issuer), "iat": .integer(issuedAt), "exp": .integer(issuedAt + lifetime.components.seconds),
            "aud": "appstoreconnect-v1", "bid": .string(bundleID),
        ]
    }
}

extension ServerAPIKey: CustomStringConvertible, CustomReflectable {
    /// Without the key.
    package var description: String { "the key \(id) of \(issuer)" }
    package var customMirror: Mirror { Mirror(self, children: ["id": id, "issuer": issuer]) }
}
