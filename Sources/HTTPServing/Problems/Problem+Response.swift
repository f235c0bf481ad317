import HTTPTypes
package import Hummingbird
import NIOCore
import NIOHTTP1

extension Problem {
    /// The problem as an answer of a route.
    package var response: Response {
        var headers = HTTPFields()
        for (name, value) in headerFields {
            if let name = HTTPField.Name(name) { headers[name] = value }
        }
        let body = ResponseBody(byteBuffer: ByteBuffer(string: json))
        return Response(status: HTTPResponse.Status(code: status), headers: headers, body: body)
    }

    /// The problem as the last answer on a connection.
    ///
    /// - Parameter date: the value of the Date field.
    func finalParts(isHead: Bool, date: String) -> [HTTPServerResponsePart] {
        let fields = headerFields + [("date", date), ("connection", "close")]
        let head = HTTPResponseHead(version: .http1_1, status: HTTPResponseStatus(statusCode: status), headers: HTTPHeaders(fields))
        let body = isHead ? [] : [HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: json)))]
        return [.head(head)] + body + [.end(nil)]
    }
}
