import HTTPRequesting

/// The address to which Apple posts notifications.
struct PublicURL: Sendable {
    /// The path of notifications V2.
    static let notifications = "/apple/v2/notifications"

    let isTLS: Bool
    let host: String
    let port: Int
    /// With the path of notifications where the text names none.
    let address: HTTPAddress

    /// Nil unless the text is `https://HOST…` or `http://HOST…`.
    init?(_ text: String) {
        let given: HTTPAddress
        do throws(HTTPAddressError) { given = try HTTPAddress(text) } catch { return nil }
        guard case .host(let host, let port, let usesTLS) = given.place else { return nil }
        (self.host, self.port, isTLS) = (host, port, usesTLS)
        address = given.target == "/" ? HTTPAddress(given.place, target: PublicURL.notifications) : given
    }
}
