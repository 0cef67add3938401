# GET /random?num=N with Trot: a JSON list of N random numbers, each as a string of six digits.

# The value of `num`: digits alone, where Integer.parse takes a sign.
defmodule Technology.Count do
  @highest 100_000

  # `num[]` and `num[key]` are other names; Plug puts their values under `num` as a list or a map.
  def of_query(%{"num" => other}) when is_list(other) or is_map(other), do: {:ok, 10}
  def of_query(%{"num" => given}), do: of_text(given)
  def of_query(_), do: {:ok, 10}

  defp of_text(<<first, _::binary>> = given) when first in ?0..?9 do
    case Integer.parse(given) do
      {num, ""} when num <= @highest -> {:ok, num}
      _ -> :error
    end
  end

  defp of_text(_), do: :error
end

defmodule Technology.Router do
  use Trot.Router

  get "/random" do
    case Technology.Router.count(conn) do
      {:ok, num} -> {200, for(_ <- 1..num//1, do: Technology.Router.number())}
      :error -> {400, "num is a number from 0 to 100000"}
    end
  end

  # Trot answers an exception with 500.
  def count(conn) do
    Technology.Count.of_query(fetch_query_params(conn).query_params)
  rescue
    Plug.Conn.InvalidQueryError -> :error
  end

  def number do
    (:rand.uniform(1_000_000) - 1) |> Integer.to_string() |> String.pad_leading(6, "0")
  end

  use Trot.NotFound
end

defmodule Technology.Application do
  use Application

  def start(_type, _args) do
    setting = fn name -> (value = System.get_env(name)) && String.to_integer(value) end
    # Without a backlog of its own Ranch takes 1024.
    backlog = if number = setting.("BACKLOG"), do: [backlog: number], else: []
    {:ok, address} = :inet.parse_ipv4_address(String.to_charlist(System.fetch_env!("LISTEN")))
    listener = [ip: address, port: setting.("PORT"), transport_options: [socket_opts: backlog]]
    server = {Plug.Cowboy, scheme: :http, plug: Technology.Router, options: listener}
    Supervisor.start_link([server], strategy: :one_for_one)
  end
end
