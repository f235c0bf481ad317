import HTTPRequesting
import HTTPServing

extension HTTPAddress {
    /// A path of a listener, as this machine reaches it. Nil for an inherited socket, and where the operating system chooses the port.
    init?(_ listener: ListenAddress, target: String) {
        switch listener.reach {
        case .tcp(let host, let port)?: self.init(.host(host, port: port, usesTLS: false), target: target)
        case .unix(let path)?: self.init(.socket(path: path), target: target)
        case nil: return nil
        }
    }
}
