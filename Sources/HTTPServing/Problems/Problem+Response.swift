import NIOCore
import NIOHTTP1

extension Problem {
    /// The problem as an answer.
    var response: Response {
        var headers: HTTPHeaders = ["content-type": Self.mediaType]
        if let retryAfter { headers.add(name: "retry-after", value: "\(retryAfter)") }
        if let allow { headers.add(name: "allow", value: allow) }
        if let challenge { headers.add(name: "www-authenticate", value: challenge) }
        return Response(status: HTTPResponseStatus(statusCode: status), headers: headers, body: ByteBuffer(string: json))
    }
}
