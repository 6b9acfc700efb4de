// SPDX-License-Identifier: BSD-2-Clause
// Jetty on a port of this machine: its argument.
import java.io.IOException;
import java.net.InetSocketAddress;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.handler.AbstractHandler;

public class JettyServer {
	public static void main(String[] args) throws Exception
	{
		Server server = new Server(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])));
		server.setHandler(new AbstractHandler() {
			@Override public void handle(String target, Request base, HttpServletRequest request,
						     HttpServletResponse response) throws IOException
			{
				base.setHandled(true);
				response.getWriter().print(Work.of(request.getQueryString()));
			}
		});
		server.start();
		System.out.println("ready");
		server.join();
	}
}
