import AppStore
import OpenSSL
import StrictJSON

/// Why a request's token is refused. The client sees 401 without a body, whatever the reason.
package enum ServerAPITokenFlaw: String, Error, Hashable, Sendable, CaseIterable {
    case missing, malformed, algorithm, unknownKey, revokedKey, signature, issuer, audience, claims
    /// `iat` is after the server's time.
    case issuedLater
    case expired
    /// More than sixty minutes from `iat` to `exp`.
    case lifetime
    /// The app is unknown, or belongs to another account.
    case app
    /// The app was never released, and the call is to Production.
    case unreleased
}

extension SimulatedServerAPI {
    /// Checks a token as Apple does, and returns its app.
    func authorize(_ token: String?, in environment: AppStoreEnvironment, at now: Timestamp) throws(ServerAPITokenFlaw) -> App {
        guard let token else { throw .missing }
        let parts = token.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map { Array($0) }
        guard parts.count == 3, let header = Self.object(parts[0]), let claims = Self.object(parts[1]),
            let signature = Base64URL.decode(parts[2])
        else { throw .malformed }
        guard header["alg"]?.text == "ES256" else { throw .algorithm }
        guard let id = header["kid"]?.text, let key = keys.first(where: { $0.id == id }) else { throw .unknownKey }
        guard !key.isRevoked else { throw .revokedKey }
        let input = Array(token.utf8.prefix(parts[0].count + 1 + parts[1].count))
        guard key.publicKey.verifyES256(signature: signature, message: input[...]) else { throw .signature }
        guard claims["iss"]?.text == key.issuer else { throw .issuer }
        guard claims["aud"]?.text == "appstoreconnect-v1" else { throw .audience }
        try checkDates(claims, at: now)
        guard let app = apps.first(where: { $0.bundleID == claims["bid"]?.text && $0.issuer == key.issuer }) else { throw .app }
        guard app.isReleased || environment != .production else { throw .unreleased }
        return app
    }

    private func checkDates(_ claims: JSONObject, at now: Timestamp) throws(ServerAPITokenFlaw) {
        guard let issuedAt = claims["iat"]?.integer, let expiresAt = claims["exp"]?.integer else { throw .claims }
        let latest = now.advanced(by: options.clockTolerance).millisecondsSince1970
        let dates = [issuedAt, expiresAt].map { $0.multipliedReportingOverflow(by: 1000) }
        guard !dates.contains(where: { $0.overflow }) else { throw .claims }
        guard dates[0].partialValue <= latest else { throw .issuedLater }
        guard now.millisecondsSince1970 < dates[1].partialValue else { throw .expired }
        guard expiresAt - issuedAt <= 3600 else { throw .lifetime }
    }

    private static func object(_ segment: [UInt8]) -> JSONObject? {
        do {
            return try Base64URL.decode(segment).map { try JSONParser().parseObject($0) }
        } catch {
            return nil
        }
    }
}
